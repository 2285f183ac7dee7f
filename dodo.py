from kbtasks.build.dodo import tasks_of

globals().update(tasks_of(__file__, root="examples/vault"))
