"""What answers a request: an HTTP endpoint, a model in this process, a recording or a simulation."""
