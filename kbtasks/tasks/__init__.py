"""One ``@command`` function per task: arguments in, one call below, a Result out."""
