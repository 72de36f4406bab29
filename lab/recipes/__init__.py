"""The trainings of the lab: what each is, which fault is injected, and when. NumPy alone."""

from __future__ import annotations

from lab.recipe import Recipe
from lab.recipes.data import DATA
from lab.recipes.rates import RATES
from lab.recipes.resumes import RESUMES

RECIPES: tuple[Recipe, ...] = DATA + RESUMES + RATES
BY_NAME = {recipe.name: recipe for recipe in RECIPES}
