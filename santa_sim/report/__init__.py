"""The HTML report of a study: one self-contained file that answers the study's question.

Nothing here is imported by `import santa_sim`, so that pandas and plotly load only when a report is
written.
"""
