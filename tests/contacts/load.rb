# The load fails, and says why, when an answer is wrong, when the server goes away, and when nobody listens.
require_relative "server"

with_book do |book|
  # The same length, another letter: only the checksum can see it.
  path = File.join(book, "c0123.vcf")
  text = File.binread(path)
  changed = text.sub("\nNOTE:") { "\nNOTF:" }
  check("the card was changed", changed != text && changed.size == text.size)
  File.binwrite(path, changed)
  with_server(book) do |port|
    status, output, errors = load("--turns", "2", "127.0.0.1:#{port}")
    check_equal("status with a wrong card", 1, status)
    check("all requests were made: #{output}", output.start_with?("20 requests, "))
    check("the wrong card is named: #{errors}", errors.match?(%r{^GET /cards/c0123\.vcf: got 200 \d+ \h+, expected 200}))
    check("a right answer is not named: #{errors}", !errors.include?("c0000"))
  end

  with_server(book) do |port, pid|
    killer = Thread.new { sleep 1; Process.kill(:KILL, pid) }
    status, _, errors = load("127.0.0.1:#{port}")
    killer.join
    check_equal("status when the server dies", 1, status)
    check("it says so: #{errors}", errors.include?("load.rb: the server at 127.0.0.1:#{port} broke off"))
    status, _, errors = load("127.0.0.1:#{port}")
    check_equal("status when nobody listens", 1, status)
    check("it says so: #{errors}", errors.include?("load.rb: the server at 127.0.0.1:#{port} broke off"))
  end
end
check_equal("status without an address", 1, load[0])
check_equal("status without work", 1, load("--turns", "none", "127.0.0.1:1")[0])
puts "the load sees what is wrong"
