module Contacts
  # The book is a directory of vCards. Nothing is cached between requests: each request reads the
  # files it needs, as an application does that treats the disk as its database.
  class Book
    def initialize(directory)
      @directory = directory
      raise "#{directory}: no contacts book here, run generate.rb first" if paths.empty?
    end

    def all
      paths.map { |path| VCard.new(path) }
    end

    def find(id)
      path = File.join(@directory, "#{id}.vcf")
      VCard.new(path) if id.match?(/\A[a-z0-9]+\z/) && File.file?(path)
    end

    def search(words)
      wanted = words.downcase.split
      all.select do |card|
        haystack = [card.name, card.company, card.note, card.address, *card.emails].join(" ").downcase
        wanted.all? { |word| haystack.include?(word) }
      end
    end

    private

    def paths
      Dir.glob(File.join(@directory, "*.vcf")).sort
    end
  end
end
