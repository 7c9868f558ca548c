"""The arc-factored dependency parser; the second-order parser lies in its own folder."""
