"""What was recorded: the values in requests and answers, where each stands, and which of them are dates or ids."""
