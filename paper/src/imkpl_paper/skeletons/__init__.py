"""Skeletons of motion capture as series: poses that face one way, and motions between bones."""

from imkpl_paper.skeletons._lie_group import SkeletonLieGroup
from imkpl_paper.skeletons._normalizer import SkeletonNormalizer

__all__ = ["SkeletonLieGroup", "SkeletonNormalizer"]
