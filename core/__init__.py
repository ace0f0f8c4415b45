"""Prefixwatch: did prefix-cache tuning help, and did answer quality hold?"""
