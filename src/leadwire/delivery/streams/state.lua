-- Return the time, the length, the ids of the oldest entry, of the oldest that nobody has read and of the last that was
-- read, how many are pending, the longest time that one of the oldest 100 of these has been held by a consumer that has
-- not asked meanwhile, and each consumer with the time since it asked. An id is empty where there is none; times are in
-- milliseconds.
local oldest, last = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1], '0-0'
local pending, held, asked, idle = 0, 0, {}, {}
for _, group in ipairs(redis.call('EXISTS', KEYS[1]) == 1 and redis.call('XINFO', 'GROUPS', KEYS[1]) or {}) do
    if group[2] == ARGV[1] then
        pending, last = group[6], group[8]
        for _, one in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
            table.insert(asked, {one[2], one[6]})
            idle[one[2]] = one[6]
        end
        for _, one in ipairs(redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 100)) do
            held = math.max(held, math.min(one[3], idle[one[2]] or one[3]))
        end
    end
end
local unread = redis.call('XRANGE', KEYS[1], '(' .. last, '+', 'COUNT', 1)[1]
return {redis.call('TIME'), redis.call('XLEN', KEYS[1]), oldest and oldest[1] or '', unread and unread[1] or '', last,
    pending, held, asked}
