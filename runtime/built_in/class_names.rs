&[(0, "EMPTY"), (1, "CONTROL"), (2, "KER_CALL"), (3, "INT"), (4, "PR_TH"), (5, "SYSTEM"), (6, "USER"), (7, "COMM"), (8, "QUIP"), (9, "SEC"), (10, "QVM"), (11, "PMU")]
