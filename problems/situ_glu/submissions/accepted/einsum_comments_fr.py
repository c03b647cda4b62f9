"""Deux projections par einsum, noms et commentaires en français."""

import torch


def plafond(x, limite):
    """Presque l'identité près de zéro, ±limite au loin."""
    return limite * (x / limite).tanh()


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    porte = torch.einsum("...i,oi->...o", input_tensor, gate_projection)
    montée = torch.einsum("...i,oi->...o", input_tensor, up_projection)
    # la sigmoïde lit la porte d'origine, pas la porte plafonnée
    return plafond(porte, gate_cap) * porte.sigmoid() * plafond(montée, up_cap)
