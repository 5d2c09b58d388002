"""Import of URDF files: conversion of a robot to an arm with flexible links and joints."""
