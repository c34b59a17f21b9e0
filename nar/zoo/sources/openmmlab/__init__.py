"""The libraries of OpenMMLab: networks that configuration files name, built through registries."""
