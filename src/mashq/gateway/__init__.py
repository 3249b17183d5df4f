"""The only door to a model, and the only room that speaks HTTP.

A player asks through a `Model` bound to who asks, about which item and for what; every attempt is opened in the
ledger before its bytes leave and closed with what came back. One attempt is one request: retries are ours, counted.
"""
