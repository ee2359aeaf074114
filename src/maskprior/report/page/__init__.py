"""build/index.html: what the records say of every claim, in one file that needs nothing else.

gather.py puts together what is shown, and svg.py draws; build/page.py fills page.html.jinja.
"""
