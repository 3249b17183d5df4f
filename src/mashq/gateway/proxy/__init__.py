"""The metering endpoint: programs of anyone's ask their models through it, and every request is in the ledger."""
