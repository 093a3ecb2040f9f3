-- Acknowledge and delete entries: for each stream how many, and their ids.
local at = 2
for _, stream in ipairs(KEYS) do
    local last = at + ARGV[at]
    redis.call('XACK', stream, ARGV[1], unpack(ARGV, at + 1, last))
    redis.call('XDEL', stream, unpack(ARGV, at + 1, last))
    at = last + 1
end
