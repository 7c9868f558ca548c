"""The process that runs a command: its signals, its standard streams, completion in its shell."""
