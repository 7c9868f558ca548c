"""Learners, one algorithm a file. They see examples made of parts, and no chains or trees."""
