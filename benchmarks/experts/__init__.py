"""Experts' tests

SimBenchmark, ContactBench, the tests of Erez, Tassa and Todorov (2015), classical hard cases of rigid contact, and
scenes from the open issues of other engines: the same bodies in every engine that is installed. What is lost is in the
tables, too.
"""
