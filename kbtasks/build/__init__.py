"""The doit side: task creators and how they are run. The only importer of doit."""
