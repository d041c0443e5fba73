"""Reports on a campaign: a table of points and faults for terminals, browsers and CI."""
