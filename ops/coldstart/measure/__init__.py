"""`ops coldstart run`: a start is provoked in the cluster, watched through its API, and written down as a record."""
