"""The commands, one module each: options to library calls, results to text.

The parameters of ``run`` are the options.  What takes long to load is imported there, after all
that may be mistyped is checked.
"""
