"""In the clothes of other libraries, to switch in a minute: :mod:`tellapart.compat.alibi_detect`, ``.evidently``.

What other libraries call is written anew here, after their documentation. None of them is imported unless asked for.
"""
