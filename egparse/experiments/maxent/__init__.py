"""Maximum-entropy classification by iterative scaling and coordinate descent, one algorithm in each
file (Huang et al. 2009).
"""
