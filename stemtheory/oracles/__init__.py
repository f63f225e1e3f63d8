"""What a problem is: a loss, its gradient oracle, its dials, its constants with witnesses."""
