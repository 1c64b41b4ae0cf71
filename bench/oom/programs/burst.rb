# Bursts of strings in Ruby; see burst.h. NoMemoryError ends a burst.
# No shape of small strings alone: refused in the middle of those, Ruby itself ends ("[FATAL] failed to allocate memory") under
# any allocator; seen with libc's and RLIMIT_AS.
SHAPES = [[8192, 200_000], [200_000, 8_000_000]].freeze

# Objects are made outside of the bursts, too. Where Ruby's heap needs a page more for them and is refused, it raises at once, although
# what was popped is there to be collected: so all is let go and collected. The collection may be refused such a page itself; what it
# came to before is enough to go on.
def insist(held)
  yield
rescue NoMemoryError
  held.clear
  begin
    GC.start
  rescue NoMemoryError
    nil
  end
  retry
end

bursts, seed, most = ARGV.map(&:to_i)
most <<= 20
rng = Random.new(seed)
held = []
bursts.times do
  taken = 0
  refused = false
  begin
    shape = rng.rand(SHAPES.length + 1)
    total = rng.rand((most / 4)...most)
    while taken < total
      least, largest = SHAPES[shape < SHAPES.length ? shape : rng.rand(SHAPES.length)]
      size = rng.rand(least...largest)
      held << ("z" * size)
      taken += size
    end
  rescue NoMemoryError
    refused = true
  end
  insist(held) do
    keep = rng.rand * 0.2
    # One by one: at the line there may be no room for a second array.
    (held.length * (1 - keep)).to_i.times { held.pop }
    # Only now: before, there may be no room for the line.
    puts "#{refused ? 'refused' : 'done'} #{taken >> 20}"
    $stdout.flush
  end
end
insist(held) do
  peak = File.read("/proc/self/status")[/VmHWM:\s+(\d+)/, 1]
  puts "end #{peak}"
  $stdout.flush
end
