-- Add entries to the streams, then wake: how many channels, these, and for each entry the place of its stream in KEYS,
-- the event, the endpoint and the attempts.
local first = 2 + ARGV[1]
for at = first, #ARGV, 4 do
    redis.call('XADD', KEYS[tonumber(ARGV[at])], '*', 'e', ARGV[at + 1], 'w', ARGV[at + 2], 'n', ARGV[at + 3])
end
for at = 2, first - 1 do redis.call('PUBLISH', ARGV[at], '') end
