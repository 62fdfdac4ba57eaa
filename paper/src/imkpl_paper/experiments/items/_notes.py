"""Sentences that several items share."""

SETTINGS = (
    "T0, the number of prototypes per class of the dictionary methods, and the limit on the "
    "kernels of IMKPL are the paper's. To how many samples AKGLVQ cuts a prototype, 20, 50 or all, "
    "is chosen by 5-fold cross-validation in the training part. The rest is at its defaults. "
    "The paper tuned all methods."
)
PROGRAMS = (
    "PS is an implementation of the published method, AKGLVQ and DKMLD are based on the published "
    "ones, MIDL and MKLDPL are reconstructions from descriptions: their figures are not those of "
    "the published programs."
)
