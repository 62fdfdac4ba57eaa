"""Skeletons of motion capture as series: poses that face one way, and motions between bones."""

from imkpl_paper.skeletons.transformers import SkeletonLieGroup, SkeletonNormalizer

__all__ = ["SkeletonLieGroup", "SkeletonNormalizer"]
