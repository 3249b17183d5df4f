"""The paper's tables, figures and ablations as experiments: what each plays, and its printed figures beside ours."""
