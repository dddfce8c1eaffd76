"""The numba engine's kernels: one fused pass over a mini-batch.

How a batch is worked through, and why it is fast:

- Rows lie in the lanes of vector registers, in tiles of ``TILE`` rows. A rule's
  literals are evaluated two at a time, all their sums in registers; `_compile` says
  how many rows fit them on the CPU at hand.
- Rows of neighbouring leaves share a tile (the caller orders each batch), so most
  rules are found dead on a whole tile after a pair or two of literals and the
  others are never computed. A rule begins with the pair that settled it last time.
- A rule looks at its own columns only, in the forward and in the backward pass.
- An active rule leaves one short record a row: which literal was the minimum,
  and its value. Only that literal receives a gradient (the paper's "restricted
  gradients"), so the backward pass walks these records and nothing else.
- Threads share the *rules*, not the rows: each owns some blocks of rules with
  their gradients and moments, so no gradient is ever reduced between threads.
  The only thing they exchange is each block's contribution to the outputs,
  added up in the order of the blocks. The result is therefore the same, to the
  bit, for any number of threads.

Nothing of size rows x literals exists; a slice holds at most ``SLICE`` rows.

A batch goes through the modules in this order: `_arrays` loads its rows, `_forward`
evaluates the rules, `_losses` their outputs, and `_train` finds the gradient and takes the
Adam step.
"""
