"""Maximum-entropy classification by iterative scaling, coordinate descent and Newton's method
(Huang et al. 2009).
"""
