"""Runs as one self-contained HTML page, and their figures and tables as files for a paper.

facts    figures of a match from its results    parts     what a page is made of
events   figures of a match from its moves      sections  a match, a sweep, a tournament ... as parts
charts   Vega-Lite charts                       page      parts as HTML; figures: parts as files
"""
