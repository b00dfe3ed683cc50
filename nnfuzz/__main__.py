"""python -m nnfuzz"""

from nnfuzz.cli import main

main()
