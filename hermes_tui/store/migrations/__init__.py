"""How the schema came to be, one file in ``versions`` a step.

To change it: change ``tables``, add the next numbered file (which also sets ``PRAGMA user_version`` to its number), and raise
``opening.SCHEMA_VERSION``. A test compares the tables that the steps make with those that the code speaks of.
"""
