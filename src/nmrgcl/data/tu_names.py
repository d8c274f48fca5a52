"""Further datasets of the TU collection (Morris et al. 2020), which load by name without published statistics."""

_NAMES = """
AIDS BZR BZR_MD COIL-DEL COIL-RAG COLORS-3 COX2 COX2_MD Cuneiform DBLP_v1 DHFR DHFR_MD ENZYMES ER_MD FIRSTMM_DB
FRANKENSTEIN Fingerprint KKI Letter-high Letter-low Letter-med MCF-7 MCF-7H MOLT-4 MOLT-4H MSRC_21 MSRC_21C MSRC_9
Mutagenicity NCI-H23 NCI-H23H NCI109 OHSU OVCAR-8 OVCAR-8H P388 P388H PC-3 PC-3H PROTEINS_full PTC_FM PTC_FR PTC_MM
Peking_1 QM9 REDDIT-MULTI-12K SF-295 SF-295H SN12C SN12CH SW-620 SW-620H SYNTHETIC SYNTHETICnew Synthie TRIANGLES
TWITTER-Real-Graph-Partial Tox21_AHR Tox21_AR Tox21_AR-LBD Tox21_ARE Tox21_ATAD5 Tox21_ER Tox21_ER_LBD Tox21_HSE
Tox21_MMP Tox21_PPAR_gamma Tox21_aromatase Tox21_p53 UACC257 UACC257H Yeast YeastH ZINC_full ZINC_test ZINC_train
ZINC_val alchemy_full aspirin benzene dblp_ct1 dblp_ct2 deezer_ego_nets ethanol facebook_ct1 facebook_ct2
github_stargazers highschool_ct1 highschool_ct2 infectious_ct1 infectious_ct2 malonaldehyde mit_ct1 mit_ct2
naphthalene reddit_threads salicylic_acid toluene tumblr_ct1 tumblr_ct2 twitch_egos uracil
"""
TU_NAMES = tuple(_NAMES.split())
