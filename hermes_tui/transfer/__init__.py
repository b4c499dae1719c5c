"""Importers: other programs' transcripts read into recorded conversations."""
