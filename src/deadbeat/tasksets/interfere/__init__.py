"""Who slows whom: the interference channels between cores, work beside work."""
