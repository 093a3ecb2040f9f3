"""Which addresses and URLs may be reached: every spelling that has been tried somewhere, and properties over all."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadwire.delivery.transport.addresses import checked, literal, networks, refusal
from leadwire.infrastructure.errors import Invalid

FORBIDDEN_ADDRESSES = """
127.0.0.1 127.255.255.255 0.0.0.0 0.1.2.3 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 100.127.255.255
169.254.169.254 192.0.0.1 192.0.0.8 192.0.2.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.9 224.0.0.1 239.1.1.1
168.63.129.16 240.0.0.1 255.255.255.255 192.88.99.1 192.31.196.1 192.52.193.1 192.175.48.1
:: ::1 ::ffff:127.0.0.1 ::127.0.0.1 ::7f00:1 ::ffff:0:7f00:1 64:ff9b::7f00:1 64:ff9b:1::1 2002:7f00:1:: 2002:7f00:1::1
2002:a00:1:: fe80::1 fc00::1 fd00:ec2::254 fec0::1 ff02::1 ff0e::1 2001:db8::1 3fff::1 5f00::1 2001::1 2001:10::1 100::1
2606:4700::5efe:7f00:1 2606:4700::200:5efe:a00:1 4000::1
2620:4f:8000::1 3ffe::1 2002:e000:1::
""".split()
PUBLIC_ADDRESSES = """
1.1.1.1 8.8.8.8 93.184.216.34 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 192.0.1.1 198.17.0.1 223.255.255.255
2606:4700:4700::1111 2a00:1450:4001:82a::200e 64:ff9b::808:808 2002:808:808::1 ::ffff:8.8.8.8
2606:4700::5efe:808:808 2606:4700::200:5efe:909:909
""".split()
FORBIDDEN_URLS = """
http://example.com/ ftp://example.com/ javascript:alert(1) //example.com/ example.com https:// https:///path https://?
https://user@example.com/ https://user:pw@example.com/ https://@example.com/ https://example.com/#part
https://example.com:0/ https://example.com:22/ https://example.com:25/ https://example.com:6379/ https://example.com:65536/
https://example.com:-1/ https://example.com:https/ https://localhost/ https://localhost./ https://LOCALHOST/
https://foo.local/ https://foo.localhost/ https://db.internal/ https://intranet/ https://127.1/ https://0/ https://127.0.1/
https://2130706433/ https://0x7f000001/ https://0x7f.1/ https://0177.0.0.1/ https://127.0.0.1/ https://127.0.0.1./
https://[::]/ https://[::1]/ https://[::ffff:127.0.0.1]/ https://[::127.0.0.1]/ https://[64:ff9b::7f00:1]/
https://[2002:7f00:1::]/ https://[fe80::1%25eth0]/ https://[::1/ https://1.2.3.4.5/ https://256.1.1.1/ https://example.0/
https://example.0x1/ https://１２７.0.0.1/ https://127。0。0。1/ https://exa%6dple.com/ https://ex_ample..com/
https://-example.com/ https://exam\u0000ple.com/ https://еxample.com/ https://example.com/é
https://foo.lan/ https://router.home.arpa/ https://xn--a.example/ https://xn--.example.com/
https:\\\\example.com/ https://example.com\\@127.0.0.1/
""".split()
FORBIDDEN_URLS += [
    "https://example.com/a\tb",
    " https://example.com/",
    "https://exa mple.com/",
    "https://example.com/\n",
    "",
    "https://example.com/" + "a" * 2049,
]
FORBIDDEN_URLS += [f"https://{address if ':' not in address else f'[{address}]'}/" for address in FORBIDDEN_ADDRESSES]


@pytest.mark.parametrize("text", FORBIDDEN_ADDRESSES)
def test_forbidden_addresses(text):
    assert refusal(ip_address(text), ())


@pytest.mark.parametrize("text", PUBLIC_ADDRESSES)
def test_public_addresses(text):
    assert refusal(ip_address(text), ()) is None


@pytest.mark.parametrize("url", FORBIDDEN_URLS)
def test_urls_refused_at_entry(url):
    with pytest.raises(Invalid) as refused:
        checked(url, ())
    (fault,) = refused.value.errors
    assert (fault.code, fault.pointer) == ("invalid_url", "/url")


ENCODED = "it holds characters that must be percent-encoded (or, in the host, be written as punycode)"
INSECURE = "it must begin with https://"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("https://example.com/" + "a" * 2029, "it is longer than 2048 characters"),
        ("https://exa mple.com/", ENCODED),
        ("https://example.com/é", ENCODED),
        ("ftp://example.com/", INSECURE),
        ("http://example.com/", INSECURE),
        ("https://user:pw@example.com/", "it must not hold a user name or password"),
        ("https://example.com/#part", "it must not have a fragment"),
        ("https://", "it has no host"),
        ("https://exa%6dple.com/", "its host is bound to an interface, or encoded"),
        ("https://example.com:25/", "port 25 is not for web servers"),
        ("https://10.0.0.1/", "10.0.0.1 is not a public address"),
        ("https://0x7f.1/", "its host is an unusual spelling of an IP address"),
        ("https://-example.com/", "its host is not a name"),
        ("https://foo.local/", "foo.local is a local name"),
        ("https://printer/", "printer is a local name"),
    ],
)
def test_a_refusal_says_why(url, why):
    with pytest.raises(Invalid) as refused:
        checked(url, ())
    (fault,) = refused.value.errors
    assert refused.value.detail == f"This URL cannot be used: {why}."
    assert fault.message == f"{why[0].upper()}{why[1:]}."


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("https://example.com", "https://example.com/"),
        ("https://Example.COM:443/Hook?a=1&b=%20", "https://example.com/Hook?a=1&b=%20"),
        ("https://hooks.example.co.uk:8443/x", "https://hooks.example.co.uk:8443/x"),
        ("https://8.8.8.8/", "https://8.8.8.8/"),
        ("https://[2606:4700:4700:0::1111]/", "https://[2606:4700:4700::1111]/"),
        ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"),
        ("https://example.com./", "https://example.com/"),
        ("https://example.com/X?X", "https://example.com/X?X"),
        ("https://example.com/" + "a" * 2028, "https://example.com/" + "a" * 2028),
        ("https://a-b.under_score.example.com/", "https://a-b.under_score.example.com/"),
    ],
)
def test_urls_in_their_normal_form(url, normal):
    assert checked(url, ()) == normal
    assert checked(normal, ()) == normal


def test_an_operators_own_networks():
    allowed = networks(["127.0.0.1/8", "10.1.0.0/16", "::1/128"])  # host bits are no mistake
    assert checked("http://127.0.0.1:80/x", allowed) == "http://127.0.0.1/x"
    assert checked("http://127.0.0.1:9000/x", allowed) == "http://127.0.0.1:9000/x"
    assert checked("http://localhost:9000/", allowed) == "http://localhost:9000/"
    assert checked("http://[::1]:9000/", allowed) == "http://[::1]:9000/"
    assert checked("https://10.1.2.3/", allowed) == "https://10.1.2.3/"
    for url in ("http://example.com/", "https://10.2.0.1/", "http://8.8.8.8/", "https://foo.local/"):
        with pytest.raises(Invalid):
            checked(url, allowed)


@given(st.integers(0, 2**32 - 1))
def test_an_ipv4_address_is_judged_the_same_inside_ipv6(number):
    plain = refusal(IPv4Address(number), ()) is None
    for prefix in (0xFFFF << 32, 0x64FF9B << 96):
        assert (refusal(IPv6Address(prefix | number), ()) is None) == plain
    assert (refusal(IPv6Address(0x2002 << 112 | number << 80), ()) is None) == plain


@given(st.ip_addresses(v=4))
def test_whatever_python_calls_private_is_refused(address):
    if not address.is_global:
        assert refusal(address, ())


@given(st.text(max_size=60))
def test_any_text_is_refused_or_normal(text):
    try:
        normal = checked(f"https://{text}", ())
    except Invalid:
        return
    assert checked(normal, ()) == normal
    host = normal.removeprefix("https://").split("/")[0].split(":")[0]
    address = literal(host.strip("[]"))
    assert address is None or refusal(address, ()) is None
