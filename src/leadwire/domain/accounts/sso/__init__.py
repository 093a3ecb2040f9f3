"""Single sign-on by OpenID Connect: the authorization code flow with PKCE, and logout from the back channel.

`flow.py` goes through the steps, `discovery.py` fetches what a provider publishes, `tokens.py` judges what it signs,
`faults.py` names whatever can be wrong. In `changes/` providers are set up, and people signed in.
"""
