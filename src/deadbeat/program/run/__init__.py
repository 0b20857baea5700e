"""A periodic program of the user's, which marks its jobs by deadbeat.h or `deadbeat.mark`."""
