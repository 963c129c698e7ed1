"""
A patient without an examination
================================

Three examinations of a tumor, and some patients lack one of them.
"""

print("later")
