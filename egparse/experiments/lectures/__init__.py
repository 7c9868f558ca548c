"""What the lectures of McDonald 2009 state, measured: parts of the experiment ``lectures``."""
