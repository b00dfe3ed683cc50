"""The tables of papers, run again and printed beside the published figures."""
