# The Ruby workload of bench/real: JSON, strings, hashes, regular expressions, templates and sorting, seeded.
#
#   ruby work.rb SCALE      prints one digest a part; the same for every allocator
require 'digest'
require 'erb'
require 'json'
require 'set'

SCALE = Float(ARGV.fetch(0))
RANDOM = Random.new(3)
WORDS = Array.new(2000) { Array.new(RANDOM.rand(2..12)) { RANDOM.rand(97..112).chr }.join }
Visit = Struct.new(:id, :path, :agent, :milliseconds)

def times(count)
  [1, (count * SCALE).to_i].max
end

def word
  WORDS[RANDOM.rand(WORDS.size)]
end

def sentence(most)
  Array.new(RANDOM.rand(1..most)) { word }.join(' ')
end

def digest(name, *values)
  puts "#{name} #{Digest::SHA256.hexdigest(values.join("\n"))[0, 24]}"
end

def record(number)
  { id: number, name: sentence(4), tags: Array.new(RANDOM.rand(8)) { word }, text: sentence(80),
    scores: Array.new(RANDOM.rand(20)) { RANDOM.rand(1_000_000) }, nested: Array.new(3) { [word, { n: number }] }.to_h }
end

def json_round_trips
  kept = {}
  total = 0
  times(6000).times do |number|
    text = JSON.generate(record(number))
    total += text.size
    kept[number % 1000] = JSON.parse(text)
  end
  digest('json', total, JSON.generate(kept))
end

def hashes_and_strings
  index = Hash.new { |hash, key| hash[key] = [] }
  times(25_000).times do |number|
    sentence(14).split.each { |w| index[w] << number }
    index.delete(word) if (number % 37).zero?
  end
  pages = Array.new(times(12)) { index.sort.map { |w, found| "<li>#{w}: #{found.size}</li>" }.join }
  digest('hashes', index.values.sum(&:size), pages.last, pages.sum(&:size))
end

def regular_expressions
  log = Array.new(times(12_000)) { |n| "#{n} GET /#{word}?q=#{word}&n=#{n} #{[200, 404, 503][RANDOM.rand(3)]}" }.join("\n")
  hits = Hash.new(0)
  log.scan(%r{^(\d+) (GET|POST) /(\w+)\?(\S+) (\d{3})$}) { |m| hits[m[4] + m[2][0]] += m[3].split('&').size }
  masked = log.gsub(/q=(\w)\w*/) { "q=#{Regexp.last_match(1).upcase}" }
  digest('regex', hits.sort.inspect, masked, log.split(/[\s?&=\/]+/).tally.size)
end

def templates_and_sorting
  page = ERB.new('<table><% visits.each do |v| %><tr><td><%= v.path %></td><td><%= ERB::Util.h(v.agent) %></td></tr><% end %></table>')
  visits = Array.new(times(6000)) { |n| Visit.new(n, "/#{word}", sentence(10), RANDOM.rand(1000)) }
  out = Array.new(times(6)) do |turn|
    visits = visits.reject { |v| v.milliseconds % 50 == turn }.sort_by { |v| [v.path, v.milliseconds, v.id] }
    page.result_with_hash(visits: visits)
  end
  digest('templates', out.map(&:size), out.last, visits.group_by(&:path).transform_values(&:size).sort.inspect,
         Set.new(visits.map(&:agent)).size)
end

json_round_trips
hashes_and_strings
regular_expressions
templates_and_sorting
