# The demo's Puma configuration: Ruby collects its garbage when the server has
# nothing to do (puma's out-of-band hook). What rests afterwards is the allocator's doing alone.
out_of_band { GC.start }
