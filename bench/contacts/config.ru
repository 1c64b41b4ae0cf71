# Puma starts here: `puma -q -t 5:5 -w 0 -b tcp://127.0.0.1:PORT config.ru`, with
# CONTACTS_BOOK naming the directory that `generate.rb` filled.
require_relative "lib/contacts"

run Contacts::App.new(Contacts::Book.new(ENV.fetch("CONTACTS_BOOK")))
