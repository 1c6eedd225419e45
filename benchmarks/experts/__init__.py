"""Experts' tests

SimBenchmark, ContactBench, the tests of Erez, Tassa and Todorov (2015), classical hard cases of rigid contact, and
scenes from the open issues of other engines, with the same bodies in every installed engine. The tables include the
tests in which this package is worse.
"""
