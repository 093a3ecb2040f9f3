"""The web area: server-rendered screens over the same domain operations as the API.

`routes.py` is the way in: every screen and every action is declared through it, and only it looks sessions up, checks
roles and checks that a form came from a page of ours.
"""
